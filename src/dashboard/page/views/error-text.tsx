/**
 * What was thrown: its code, its message, and its stack with those of its causes.
 */
import { CopyButton, Text } from '../parts.tsx'
import { seen } from '../safe-text.ts'

const MOST = 20_000

export interface ShownError {
  readonly code: string
  readonly message: string
  readonly stack?: string | null
}

export function ErrorText({ error }: { readonly error: ShownError | null }) {
  if (error === null) return null
  const { code, message, stack } = error
  return (
    <div class="problem">
      <p>
        <strong>
          <Text text={code} />
        </strong>{' '}
        <Text text={message} most={2_000} />
      </p>
      {stack != null && stack !== '' && (
        <details>
          <summary>Stack, with its causes</summary>
          <pre tabIndex={0} role="group" aria-label="Stack">
            {seen(stack.slice(0, MOST))}
          </pre>
          <CopyButton text={stack.slice(0, MOST)} label="Copy stack" />
        </details>
      )}
    </div>
  )
}
