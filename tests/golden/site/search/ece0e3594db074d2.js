helmsite.texts([["What is the capital of Italy?","Rome","Milan"],["What is the capital of Perú? \u003cb>","Lima","Cuzco"],["What is the capital of Japan?\t東京","Tokyo","Kyoto"]],"ece0e3594db074d2");
