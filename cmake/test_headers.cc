// Empty: only the precompiled headers of this target are used; see module.cmake.
int main() { return 0; }
