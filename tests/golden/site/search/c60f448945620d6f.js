helmsite.texts("c60f448945620d6f",[["What is the capital of Italy?","Rome","Milan"],["What is the capital of Perú? \u003cb>","Lima","Cuzco"],["What is the capital of Japan?\t東京","Tokyo","Kyoto"]]);
