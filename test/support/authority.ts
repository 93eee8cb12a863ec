/**
 * The smallest authority there is, which the lab of the command line has too.
 */
export * from '../../src/lab/authority.ts'
