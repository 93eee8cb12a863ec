import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 300_000,
    maxWorkers: 2,
    coverage: { provider: 'v8', include: ['src/kernel/**'], reporter: ['text', 'html'] },
  },
})
