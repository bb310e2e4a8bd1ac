// Only its headers are wanted: see holdfast_test in room.cmake.
int main() { return 0; }
