import { randomInt } from 'node:crypto'

// Some of the words rhyme. That is no problem, because a person compares written phrases.
const FIRST_WORDS = `
  amber blue brave bright calm clear cozy deep early fair gentle golden green happy humble ivory jolly kind
  large light lively lucky merry mild neat open orange patient plain polite proud purple quick quiet rapid red
  ripe round safe silver simple smooth soft steady strong sunny sweet tall thankful tidy velvet violet warm
  white wide windy wise wooden yellow young frosty grand honest silent`
  .trim()
  .split(/\s+/)
const SECOND_WORDS = `
  apple basket bridge candle cloud coin comet cotton desert dolphin feather field forest garden guitar harbor
  hill island kettle ladder lake lantern leaf lemon lion maple market meadow mirror moon mountain ocean orchard
  owl paper pearl pencil piano pillow planet pocket pond rabbit rain ribbon river road rocket sail shell spoon
  spring stone summer table tiger train valley village violin wagon window winter wheel`
  .trim()
  .split(/\s+/)

/**
 * Picks two words, such as `amber river`. The agent, the mail, and the page behind the link in the mail show the same two words,
 * so that the person can see that the three belong together. The words are not a secret.
 */
export const generateMatchPhrase = (): string =>
  `${FIRST_WORDS[randomInt(FIRST_WORDS.length)]} ${SECOND_WORDS[randomInt(SECOND_WORDS.length)]}`

/** The number of possible phrases: 4,096. A test requires a minimum. */
export const MATCH_PHRASE_COUNT = FIRST_WORDS.length * SECOND_WORDS.length
