/**
 * How much a campaign does. `npm test` takes a sample, so that it is over in minutes; `npm run test:long`
 * takes all of it.
 */
export const IS_LONG = process.env['PAWL_CAMPAIGN'] === 'long'
