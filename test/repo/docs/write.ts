/**
 * `npm run docs`: writes the generated parts of `docs/model.md` anew.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../tidy/tree.ts'
import { rewrite } from './blocks.ts'
import { modelParts } from './generate.ts'

const path = join(ROOT, 'docs', 'model.md')
const page = readFileSync(path, 'utf8')
const wanted = rewrite(page, modelParts())
if (wanted === page) {
  console.log('docs/model.md is up to date.')
} else {
  writeFileSync(path, wanted)
  console.log('docs/model.md was written anew.')
}
