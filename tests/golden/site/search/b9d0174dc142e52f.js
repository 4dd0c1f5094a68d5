helmsite.texts("b9d0174dc142e52f",[["What is the capital of Italy? It is old."],["What is the capital of Perú? \u003cb> It is old."],["What is the capital of Japan?\t東京 It is old."]]);
