/**
 * Short ways to write specs, policies and promises, which the stories of the lab are written in, too.
 */
export * from '../../src/lab/specs.ts'
