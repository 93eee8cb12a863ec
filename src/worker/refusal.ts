/**
 * The authority's no, as something that can be thrown and recorded.
 */
export function refusal({ code, message }: { code: string; message: string }): Error {
  return Object.assign(new Error(message), { name: code, code })
}
