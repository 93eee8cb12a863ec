/**
 * What vitest runs before each file of tests. Files share their processes, and so the modules in
 * them: what a module keeps for one file goes with that file.
 */
import { afterAll } from 'vitest'
import { removeFiles } from './sqlite.ts'

afterAll(removeFiles)
