/**
 * `fetch`, for answers that may be large and are asked for again and again: the server tags them, and does not send again
 * what this page has. Only the newest of them is kept.
 */

interface TaggedAnswer {
  readonly url: string
  readonly tag: string
  readonly text: string
}

let kept: TaggedAnswer | null = null

interface AskedInit extends RequestInit {
  readonly headers: Readonly<Record<string, string>>
}

export async function taggedFetch(url: string, init: AskedInit): Promise<Response> {
  const known = kept?.url === url ? kept : null
  const tag = known === null ? {} : { 'if-none-match': known.tag }
  const response = await fetch(url, { ...init, headers: { ...init.headers, ...tag } })
  const { headers } = response
  if (response.status === 304 && known !== null) return new Response(known.text, { headers })
  const etag = headers.get('etag')
  if (!response.ok || etag === null) return response
  const text = await response.text()
  kept = { url, tag: etag, text }
  return new Response(text, { headers })
}
