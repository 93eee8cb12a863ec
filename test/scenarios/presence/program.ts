/**
 * A process with a worker on a store. It says `ready`, what its handlers say, and works until it is killed.
 * Its task is its one argument.
 */
import { open } from '../../../src/index.ts'
import type { SharedPlace } from '../shared/places.ts'
import { ALL } from './jobs.ts'

const { location, options } = JSON.parse(process.argv[2] ?? '') as SharedPlace
const pawl = await open(location, options)
pawl.work(ALL)
console.log('ready')
