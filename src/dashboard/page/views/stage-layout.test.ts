import { describe, expect, it } from 'vitest'
import { BOX, stageLayout } from './stage-layout.ts'

const stage = (name: string, ...after: string[]) => ({ name, after })

describe('the drawing of stages', () => {
  it('has each stage to the right of all that it waits for, and none upon another', () => {
    const all = [
      stage('survey'),
      stage('render', 'survey'),
      stage('sound', 'survey'),
      stage('join', 'render', 'sound'),
    ]
    const { stages, arrows, width, height } = stageLayout(all)
    for (const [i, { after }] of all.entries()) {
      for (const before of after) {
        const from = stages[all.findIndex(({ name }) => name === before)]
        expect(stages[i]?.x).toBeGreaterThan((from?.x ?? 0) + BOX.width)
      }
    }
    expect(new Set(stages.map(({ x, y }) => `${x} ${y}`)).size).toBe(4)
    expect(arrows.map(({ from, to }) => `${from} ${to}`)).toHaveLength(4)
    for (const { path } of arrows) expect(path).toMatch(/^M[\d.]+ [\d.]+ [QL]/)
    expect(width).toBeGreaterThan(3 * BOX.width)
    expect(height).toBeGreaterThan(2 * BOX.height)
  })

  it('takes any name, and what comes after nothing that is there', () => {
    const odd = [stage('__proto__'), stage('constructor', '__proto__'), stage('', 'nowhere')]
    const { stages, arrows } = stageLayout(odd)
    expect(stages).toHaveLength(3)
    expect(arrows).toHaveLength(1)
  })
})
