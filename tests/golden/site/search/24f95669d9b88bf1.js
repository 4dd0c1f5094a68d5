helmsite.texts([["What is the capital of Italy? It is old."],["What is the capital of Perú? \u003cb> It is old."],["What is the capital of Japan?\t東京 It is old."]],"24f95669d9b88bf1");
