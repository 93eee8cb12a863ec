/**
 * How large an element is on the screen, as it changes.
 */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Size {
  readonly width: number
  readonly height: number
}

/** Null: it is not known yet. */
export function useSize<E extends Element>(): readonly [RefObject<E | null>, Size | null] {
  const element = useRef<E | null>(null)
  const [size, setSize] = useState<Size | null>(null)
  useEffect(() => {
    if (element.current === null) return
    const observer = new ResizeObserver(([one]) => {
      if (one === undefined) return
      const { width, height } = one.contentRect
      setSize({ width, height })
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, size]
}
