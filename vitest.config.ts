import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-run.ts'],
    testTimeout: 300_000,
    maxWorkers: 2,
    coverage: {
      provider: 'v8',
      include: ['src/kernel/**'],
      exclude: ['**/*.test.ts'],
      reporter: ['text', 'html'],
      thresholds: { branches: 100, functions: 100, lines: 100, statements: 100 },
    },
  },
})
