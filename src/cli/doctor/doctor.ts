/**
 * `doctor`: whether this machine, its disk and its clock, and the store are fit for Pawl.
 */
import type { CliCommand } from '../command.ts'
import { hasFlag } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import type { Styles } from '../styles.ts'
import { diskChecks } from './disk-checks.ts'
import type { Finding } from './finding.ts'
import { clockChecks, memoryCheck, nodeCheck } from './machine-checks.ts'

function mark(styles: Styles, { verdict }: Finding): string {
  if (verdict === 'fit') return styles.green('fit  ')
  return verdict === 'mind' ? styles.yellow('mind ') : styles.red('unfit')
}

function findingsText(styles: Styles, findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap((one) => {
    const head = `${mark(styles, one)}  ${one.check.padEnd(width)}  ${one.found}`
    return one.advice === null ? [head] : [head, `${' '.repeat(width + 9)}${one.advice}`]
  })
  const isFit = findings.every(({ verdict }) => verdict !== 'unfit')
  return [...lines, isFit ? styles.green('Fit for Pawl.') : styles.red('Not fit for Pawl.')].join(
    '\n',
  )
}

export const DOCTOR: CliCommand = {
  name: 'doctor',
  group: 'learn',
  says: 'Whether this machine, its disk and clock, and the store are fit for Pawl',
  details:
    'Without a store it examines the machine and the disk of the working folder. It writes one small file, and removes it. Exit code 1: something is unfit.',
  options: [{ flags: '--machine', says: 'Only the machine, whatever store is named' }],
  examples: ['doctor', 'doctor --store ./data', 'doctor --store postgres://localhost/app -o json'],
  run: async (call) => {
    const findings = [nodeCheck(process.versions.node), memoryCheck(), ...(await clockChecks())]
    const isNamed = !hasFlag(call, 'machine') && isStoreNamed(call.settings)
    if (isNamed) {
      const { storeChecks } = await import('./store-checks.ts')
      findings.push(...(await storeChecks(call.settings)))
    } else findings.push(...(await diskChecks('.')))
    const isFit = findings.every(({ verdict }) => verdict !== 'unfit')
    return {
      exitCode: isFit ? 'done' : 'no',
      report: {
        value: { isFit, findings },
        items: findings,
        text: (styles) => findingsText(styles, findings),
      },
    }
  },
}

function isStoreNamed(settings: { readonly store: string }): boolean {
  try {
    return settings.store !== ''
  } catch (error) {
    if (error instanceof WrongUsage) return false
    throw error
  }
}
