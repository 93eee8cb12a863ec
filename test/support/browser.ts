/**
 * A real Chromium, from npm. It is started once for a file of tests; where it cannot start, those tests say so and are
 * skipped.
 */
import type { Browser } from 'playwright-core'

/** The package carries libraries that a small machine lacks, and looks for them if it takes itself to be there. */
const WITH_ITS_LIBRARIES = 'AWS_Lambda_nodejs22.x'

/** Null: it does not start here. */
export async function startBrowser(): Promise<Browser | null> {
  const before = process.env['AWS_EXECUTION_ENV']
  process.env['AWS_EXECUTION_ENV'] ??= WITH_ITS_LIBRARIES
  try {
    const { default: chromium } = await import('@sparticuz/chromium')
    const { chromium: driver } = await import('playwright-core')
    const executablePath = await chromium.executablePath()
    return await driver.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  } catch (error) {
    console.warn(`SKIPPED: no browser starts here: ${(error as Error).message.slice(0, 400)}`)
    return null
  } finally {
    if (before === undefined) delete process.env['AWS_EXECUTION_ENV']
  }
}
