/**
 * Time travel: the whole machine, or one job, as it was at a moment of the log, and what changed between two of them.
 */
import { Empty } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { PastJob } from './past-job.tsx'
import { PastMachine } from './past-machine.tsx'

export function PastView({ parameters }: { readonly parameters: RouteParameters }) {
  const { job } = parameters
  if (job === undefined) return <PastMachine parameters={parameters} />
  return job === '' ? (
    <Empty>There is no such job.</Empty>
  ) : (
    <PastJob key={job} job={job} parameters={parameters} />
  )
}
