/**
 * The files of the dashboard, as a server answers with them: a page, its script, its style sheet and its icon. They are
 * read and compressed when they are asked for the first time, and never before.
 *
 * Nothing in them depends on where the server is mounted. The policy lets the page load these files alone, and talk to the
 * server that it came from alone.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

const PLACE = '/dashboard/'

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // They are asked for again each time, and sent again if they have changed.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
}

/** What is asked: only its headers matter. */
interface AskedHeaders {
  get(name: string): string | null
}

/** As a server writes it; an empty text is no body. */
export interface FileAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer>
}

interface KeptFile {
  readonly plain: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly tag: string
}

export class DashboardFiles {
  readonly #folders: readonly URL[]
  readonly #kept = new Map<string, Promise<KeptFile | null>>()

  /** Default: where the package has them, or, run from sources, where `npm run build` puts them. */
  constructor(folder?: URL) {
    this.#folders = folder === undefined ? usualFolders(import.meta.url) : [folder]
  }

  /** `path`: below that of the server. Null: it is none of the dashboard's. */
  async answer(path: string, headers: AskedHeaders): Promise<FileAnswer | null> {
    // Relative, as are all addresses of the page: a proxy may have put the server below another path.
    if (path === PLACE.slice(0, -1)) return redirect('dashboard/')
    if (!path.startsWith(PLACE)) return null
    const name = path.slice(PLACE.length) || 'index.html'
    const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined
    if (type === undefined) return null
    const file = await this.#file(name)
    return file === null ? null : fileAnswer(file, type, headers)
  }

  #file(name: string): Promise<KeptFile | null> {
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const read = this.#read(name)
    this.#kept.set(name, read)
    return read
  }

  async #read(name: string): Promise<KeptFile | null> {
    const place = this.#folders
      .map((folder) => new URL(name, folder))
      .find((file) => existsSync(file))
    if (place === undefined) return null
    const plain = new Uint8Array(await readFile(place))
    const gzipped = new Uint8Array(await promisify(gzip)(plain))
    const tag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
    return { plain, gzipped, tag }
  }
}

/** Empty: a bundler has put the server into another file, and left the page behind. */
function usualFolders(base: string | undefined): readonly URL[] {
  if (base === undefined) return []
  // Beside the bundled file, beside its folder, and for sources.
  return ['./dashboard/', '../dashboard/', '../../dist/dashboard/'].map((one) => new URL(one, base))
}

function redirect(location: string): FileAnswer {
  return { status: 302, headers: { ...HEADERS, location }, body: '' }
}

function fileAnswer(
  { plain, gzipped, tag }: KeptFile,
  type: string,
  asked: AskedHeaders,
): FileAnswer {
  const headers = { ...HEADERS, etag: tag }
  if (asked.get('if-none-match') === tag) return { status: 304, headers, body: '' }
  const isGzip = /\bgzip\b/.test(asked.get('accept-encoding') ?? '')
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': type,
      ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
    },
    body: isGzip ? gzipped : plain,
  }
}
