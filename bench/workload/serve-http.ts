/**
 * The program of a server: a directory behind HTTP, in a process of its own. It is given the build and the folder, says
 * its address, and ends with its standard input.
 */
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as PublicApi from '../../src/index.ts'
import type * as ServerApi from '../../src/server/index.ts'

const [entry = '', folder = ''] = process.argv.slice(2)

const { open } = (await import(pathToFileURL(entry).href)) as typeof PublicApi
const serverFile = join(dirname(entry), 'server', 'index.js')
const { serve } = (await import(pathToFileURL(serverFile).href)) as typeof ServerApi

const pawl = await open(join(folder, 'pawl'))
const server = await serve(pawl, { port: 0 })
process.stdin.resume()
process.stdin.once('end', () => {
  void server
    .close()
    .then(() => pawl.close())
    .then(() => process.exit(0))
})
console.log(server.url)
