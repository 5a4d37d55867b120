// The command line in a few CommonJS files: Node starts it in two thirds of the time that it takes for the same
// code as one ES module for each source file (docs/decisions/0007). The packages that it uses stay outside.
import { defineConfig } from 'rolldown';

export default defineConfig({
  input: { main: 'src/cli/main.ts', sandboxHost: 'src/cli/sandboxHost/main.ts' },
  platform: 'node',
  // What the compiler itself brings along for newer syntax is no package of ours.
  external: (id) => !/^[./]|^@oxc-project\/runtime\//.test(id),
  transform: { target: 'node20.19' },
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
  },
});
