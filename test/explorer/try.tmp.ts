import { SCOPES } from '/work/main/test/explorer/scope.ts'
import { explore } from '/work/main/test/explorer/search.ts'
for (const s of SCOPES.filter((s) => process.argv[3] === undefined || process.argv[3] === s.name)) {
  const t = performance.now()
  const r = explore(s, undefined, { states: +(process.argv[2] ?? 300000) })
  const ms = performance.now() - t
  console.log(
    s.name,
    'states',
    r.states,
    'transitions',
    r.transitions,
    'depth',
    r.depth,
    'complete',
    r.complete,
    'parts',
    r.space.distinctParts,
    'ms',
    Math.round(ms),
    JSON.stringify(r.violation?.violations),
  )
}
