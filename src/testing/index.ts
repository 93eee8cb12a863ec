/**
 * For tests of jobs: an engine in memory with a clock that the test moves, and workers that die
 * when the test wants it.
 */
export type { CrashMoment, CrashOptions, CrashPoint } from './crashing-store.ts'
export type { EffectStart } from './effect-calls.ts'
export type { OpenJob } from './pending-work.ts'
export { NotSettled } from './pending-work.ts'
export type { Crash, Ran, RunOptions, TestEngineOptions } from './test-engine.ts'
export { TestEngine, testEngine } from './test-engine.ts'
export type { TestTransaction } from './test-transaction.ts'
export { sqliteTransaction } from './test-transaction.ts'
