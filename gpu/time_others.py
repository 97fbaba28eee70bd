"""What others publish of the errors of their estimates, for docs/results/time.md: tool, error, speed, source."""

OTHERS = [
    ["Accel-Sim, simulates each cycle", "79 percentage points less error in cycles than GPGPU-Sim 3, 1945 kernels of 80 programs", "some programs take more than five days (Huerta and González, 2024)",
     "Khairy, Shen, Aamodt, Rogers: Accel-Sim, ISCA 2020"],
    ["PPT-GPU, a model of instructions and caches", "within 10 %, programs of Rodinia and Parboil", "up to 450 times GPGPU-Sim",
     "Arafa et al.: PPT-GPU, IEEE Computer Architecture Letters 18 (2019)"],
    ["PPT's first GPU module", "within 20 %, three programs", "", "Chapuis, Eidenbenz, Santhi: GPU Performance Prediction Through Parallel Discrete Event Simulation (2016)"],
    ["Source analysis and simulated traces", "17.04 % mean, four GPUs, OpenCL", "a few seconds a kernel", "Wang, Huang, Knoll, Qian: A Hybrid Framework for Fast and Accurate GPU Performance Estimation (2019)"],
    ["XAPP, learned from CPU code", "26.9 % mean, 24 kernels", "", "Ardalani et al.: Cross-Architecture Performance Prediction, MICRO 2015"],
]
