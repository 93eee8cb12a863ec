/**
 * `npm run docs`: writes the generated parts of `docs/model.md`, `docs/http.md`, `docs/cli.md` and the guide anew.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../tidy/tree.ts'
import { rewrite } from './blocks.ts'
import { cliParts } from './cli-parts.ts'
import { modelParts } from './generate.ts'
import { httpParts } from './http-parts.ts'
import { metricsParts } from './metrics-parts.ts'

const PAGES = {
  'model.md': modelParts,
  'http.md': httpParts,
  'cli.md': cliParts,
  'guide/22-observing.md': metricsParts,
}

for (const [name, parts] of Object.entries(PAGES)) {
  const path = join(ROOT, 'docs', name)
  const page = readFileSync(path, 'utf8')
  const wanted = rewrite(page, parts())
  if (wanted !== page) writeFileSync(path, wanted)
  console.log(`docs/${name} ${wanted === page ? 'is up to date' : 'was written anew'}.`)
}
