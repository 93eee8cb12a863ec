/**
 * What a view of the page asks the server, seen in a real browser. A call is then asked again as it was.
 */
import type { Browser, Page, Request } from 'playwright-core'
import type { Route } from './routes.ts'

export interface PageCall {
  readonly method: string
  readonly url: string
  /** Null: it has none. */
  readonly body: string | null
  /** What the page says of how old the answer may be; null: nothing. */
  readonly cacheControl: string | null
}

/** The calls of one view: asked once all of them are answered, and asks nothing more for a while. */
export interface RecordedView {
  readonly route: Route
  readonly calls: readonly PageCall[]
}

/** Shorter than the time after which a view asks again. */
const QUIET_MS = 60
const LONGEST_MS = 30_000
const LOOK_MS = 10
const PACE_ROUNDS = 3
const NO_VIEW = 'nothing'

export class PageRecorder {
  readonly #page: Page
  readonly #url: string
  #calls: PageCall[] = []
  #open = 0
  #quietSince = 0

  private constructor(page: Page, url: string) {
    this.#page = page
    this.#url = url
    page.on('request', (request) => this.#note(request))
    const ended = (request: Request): void => {
      if (!isCall(request)) return
      this.#open -= 1
      this.#quietSince = performance.now()
    }
    page.on('requestfinished', ended)
    page.on('requestfailed', ended)
  }

  static async open(browser: Browser, url: string): Promise<PageRecorder> {
    const page = await browser.newPage()
    const recorder = new PageRecorder(page, url)
    // A view that is not there: who reads is known BEFORE the first view is recorded.
    await page.goto(`${url}#/${NO_VIEW}`)
    await page.locator('header nav li').first().waitFor()
    return recorder
  }

  /** How long it takes a view to ask all of its questions and to begin anew. */
  async paceOf(route: Route): Promise<number> {
    const times: number[] = []
    await this.record(route)
    const [first] = this.#calls
    const note = (request: Request): void => {
      if (request.url() === first?.url) times.push(performance.now())
    }
    this.#page.on('request', note)
    while (times.length <= PACE_ROUNDS) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    this.#page.off('request', note)
    return ((times.at(-1) as number) - (times[0] as number)) / PACE_ROUNDS
  }

  async record(route: Route): Promise<RecordedView> {
    const began = performance.now()
    await this.#leave()
    this.#calls = []
    await this.#page.goto(`${this.#url}#/${route.hash}`)
    while (!this.#isQuiet()) {
      if (performance.now() - began > LONGEST_MS) throw new Error(`#/${route.hash} asks on and on.`)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
    return { route, calls: this.#calls }
  }

  close(): Promise<void> {
    return this.#page.close()
  }

  /** What the view before was about to ask is no call of the next one. */
  async #leave(): Promise<void> {
    await this.#page.goto(`${this.#url}#/${NO_VIEW}`)
    await this.#page.getByText('There is nothing at this address').waitFor()
    while (this.#open > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }

  #isQuiet(): boolean {
    if (this.#calls.length === 0 || this.#open > 0) return false
    return performance.now() - this.#quietSince > QUIET_MS
  }

  #note(request: Request): void {
    if (!isCall(request)) return
    this.#open += 1
    const call = {
      method: request.method(),
      url: request.url(),
      body: request.postData(),
      cacheControl: request.headers()['cache-control'] ?? null,
    }
    // A view that is slow may ask again BEFORE it is left.
    if (!this.#calls.some((one) => one.url === call.url && one.body === call.body)) {
      this.#calls.push(call)
    }
  }
}

function isCall(request: Request): boolean {
  return new URL(request.url()).pathname.includes('/v1/')
}

/** The server may listen elsewhere by now. */
export function movedTo(call: PageCall, pageUrl: string): PageCall {
  const url = new URL(call.url)
  url.port = new URL(pageUrl).port
  return { ...call, url: url.href }
}

/** As it is, or for an answer of its own. */
export async function ask(
  { method, url, body, cacheControl }: PageCall,
  isShared = false,
): Promise<string> {
  const answer = await fetch(url, {
    method,
    headers: {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(isShared && cacheControl !== null ? { 'cache-control': cacheControl } : {}),
    },
    ...(body === null ? {} : { body }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text.slice(0, 300)}`)
  return text
}
