/**
 * The words that the documents are made of. A collection has a theme, so that its reports have
 * keywords of their own.
 */

export interface Theme {
  readonly name: string
  readonly things: readonly string[]
  readonly people: readonly string[]
}

export const THEMES: readonly Theme[] = [
  {
    name: 'harbour',
    things: [
      'anchor',
      'lantern',
      'rope',
      'tide',
      'ferry',
      'net',
      'pier',
      'compass',
      'sail',
      'buoy',
    ],
    people: ['pilot', 'captain', 'diver', 'harbourmaster', 'rower'],
  },
  {
    name: 'garden',
    things: ['hedge', 'pear', 'spade', 'seedling', 'bee', 'trellis', 'pond', 'compost', 'rose'],
    people: ['gardener', 'beekeeper', 'neighbour', 'botanist', 'apprentice'],
  },
  {
    name: 'workshop',
    things: ['ratchet', 'pawl', 'spring', 'lathe', 'hammer', 'gear', 'bench', 'drawer', 'screw'],
    people: ['clockmaker', 'locksmith', 'turner', 'customer', 'foreman'],
  },
  {
    name: 'railway',
    things: [
      'signal',
      'carriage',
      'whistle',
      'platform',
      'ticket',
      'bridge',
      'tunnel',
      'timetable',
    ],
    people: ['driver', 'conductor', 'passenger', 'stationmaster', 'porter'],
  },
  {
    name: 'kitchen',
    things: ['kettle', 'crème', 'onion', 'ladle', 'oven', 'purée', 'recipe', 'pepper', 'table'],
    people: ['cook', 'baker', 'guest', 'waiter', 'maître'],
  },
  {
    name: 'observatory',
    things: ['comet', 'mirror', 'dome', 'eclipse', 'chart', 'satellite', 'prism', 'pendulum'],
    people: ['astronomer', 'student', 'engineer', 'visitor', 'observer'],
  },
]

export const QUALITIES: readonly string[] = [
  'quiet',
  'old',
  'heavy',
  'curious',
  'narrow',
  'well-kept',
  'unexpected',
  'patient',
  'blue',
  'half-forgotten',
  'ordinary',
  'naïve',
  'extraordinary',
  'small',
]

export const DEEDS: readonly string[] = [
  'carried',
  'repaired',
  'counted',
  'followed',
  'forgot',
  'examined',
  'described',
  'moved',
  'remembered',
  'painted',
  'weighed',
  'recommended',
  'found',
]

export const MOMENTS: readonly string[] = [
  'before the rain',
  'in the early morning',
  'after a long discussion',
  'without a word',
  'for the second time that year',
  'as the bell rang',
  'on the coldest day of the winter',
  'until nobody was left',
]

export const OPENINGS: readonly string[] = [
  'In the end',
  'Nobody knew why, but',
  'Every now and then',
  'According to the notebook',
  'A week later',
  "It wasn't planned, yet",
  'To everybody’s surprise',
]

export const ASIDES: readonly string[] = [
  'which was not easy',
  'though it took 3 attempts',
  'as people do',
  'with a smile',
  'and that was that',
]
