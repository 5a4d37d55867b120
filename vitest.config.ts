import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    coverage: {
      // The runtimes and what stands above them; the command line is run as a built program, where nobody counts.
      include: ['src/{runtimes,sandbox,operations,policy,result,audit,gate,config,languages}/**/*.ts'],
      exclude: ['**/*.test.ts'],
      reporter: ['text-summary', 'json-summary'],
      // What is covered is told also when a test fails.
      reportOnFailure: true,
    },
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'tests/*.test.ts'], testTimeout: 20_000 } },
      {
        test: {
          name: 'real',
          include: ['tests/*/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // They mostly wait, for engines and deadlines: two of them leave half of two processors idle.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
