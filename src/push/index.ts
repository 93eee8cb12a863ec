/**
 * `pawl/push`: the receiving end of jobs that are pushed to a URL.
 */
export type { PushedJob, ReceiveOptions } from './receive.ts'
export { receivePush } from './receive.ts'
