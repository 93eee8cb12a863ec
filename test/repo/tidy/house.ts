/**
 * `npm run house`: prints the rooms of `src/` with their files, lines and arrows, and what is
 * wrong with them. Tests beside the sources are not counted.
 */
import { posix } from 'node:path'
import { circlesIn, fileGraph, folderGraph } from './rooms.ts'
import { oneNameForOneType } from './rules.ts'
import { readTree } from './tree.ts'

const files = readTree().filter(
  ({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.test.ts'),
)
const linesOf = (text: string): number => text.trimEnd().split('\n').length
const short = (node: string): string => node.replace(/^src\/?/, '') || 'src'

const rooms = new Map<string, { files: number; lines: number }>()
for (const { path, text } of files) {
  const folder = posix.dirname(path)
  const room = rooms.get(folder) ?? { files: 0, lines: 0 }
  rooms.set(folder, { files: room.files + 1, lines: room.lines + linesOf(text) })
}

const folders = folderGraph(files)
const arrowsOf = (folder: string): string => {
  const targets = [folder, `${folder} (front)`].flatMap((node) =>
    Array.from(folders.get(node) ?? []),
  )
  const names = targets.map((node) => short(node.replace(' (front)', '')))
  return [...new Set(names)]
    .filter((name) => name !== short(folder))
    .toSorted()
    .join(', ')
}

console.log('files   lines  room and what it imports')
for (const [folder, room] of [...rooms].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const arrows = arrowsOf(folder)
  console.log(
    `${String(room.files).padStart(5)} ${String(room.lines).padStart(7)}  ` +
      `${short(folder)}${arrows === '' ? '' : ` → ${arrows}`}`,
  )
}
const total = [...rooms.values()].reduce((sum, { lines }) => sum + lines, 0)
console.log(`${String(files.length).padStart(5)} ${String(total).padStart(7)}  in all`)

const circles = [...circlesIn(fileGraph(files)), ...circlesIn(folders)]
const twice = oneNameForOneType(files)
console.log(`\ncircles: ${circles.length}, types declared twice: ${twice.length}`)
for (const circle of circles) console.log(`  circle: ${circle.map(short).join(' ')}`)
for (const { what } of twice) console.log(`  ${what}`)
if (circles.length + twice.length > 0) process.exitCode = 1
