helmsite.texts([[[0," Rome"],[1," Milan"]],[[0," Milan"],[1," Rome"]],[[0," Cuzco"],[1," Lima"]],[[0," Lima"],[1," Lima"]],[[0," Tokyo"]],[[0," Tokyo"],[1," Kyoto"]]],"8a585038aa3a852f");
