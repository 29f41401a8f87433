import { numberBetween, type Setting } from '@plainpath/http/settings'

/** Returns the schema of a duration in seconds, from `min` to `max`. The parsed value is in milliseconds. */
const secondsBetween = (min: number, max: number) =>
  numberBetween(min, max).transform((seconds) => seconds * 1000)

const DAY_SECONDS = 86_400

/** The settings of the signing keys. Durations are in seconds, and their parsed values in milliseconds. */
export const KEY_SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: {
    schema: secondsBetween(0, DAY_SECONDS),
    description:
      '`max-age` of the public key set. A new key signs only after every cached key set has expired.',
    default: '300',
  },
  AUTH_KEYS_TRUST_SECONDS: {
    schema: secondsBetween(0.1, 60),
    description:
      'How long an API may trust a key set after fetching it. `keys revoke` waits this long after every instance has the new keys.',
    default: '5',
  },
  AUTH_KEYS_POLL_SECONDS: {
    schema: secondsBetween(0.1, 30),
    description: 'How often an instance reads the keys, and reports the key with which it signs.',
    default: '3',
  },
  AUTH_KEYS_LEASE_SECONDS: {
    schema: secondsBetween(1, 600),
    description:
      'How long an instance that cannot read the keys continues to sign. Commands count an instance as stopped if it has not reported for this long.',
    default: '15',
  },
  AUTH_KEYS_OVERLAP_SECONDS: {
    schema: secondsBetween(0, 30 * DAY_SECONDS),
    description:
      'How long a key stays published after it has stopped signing. An identity assertion is valid for at most this long.',
    // 25 hours: an identity assertion is valid for a day.
    default: '90000',
  },
  AUTH_KEYS_PERIOD_SECONDS: {
    schema: secondsBetween(0, 366 * DAY_SECONDS),
    description: 'How long a key signs before its successor is due.',
    default: String(90 * DAY_SECONDS),
  },
} as const satisfies Record<string, Setting>

/** The parsed values, in milliseconds although the names of the settings end in SECONDS. */
type SettingValues = { readonly [Name in keyof typeof KEY_SETTINGS]: number }

/** The settings of the signing keys, with their units in the names. */
export interface KeySettings {
  /** How long a verifier may use the published keys after fetching them: the longer of `max-age` and `trustMs`. */
  readonly verifierCacheMs: number
  /** `max-age` of the public key set. */
  readonly publicMaxAgeSeconds: number
  /** How long an API may trust a key set after fetching it. */
  readonly trustMs: number
  /** How often an instance reads the keys. */
  readonly pollMs: number
  /**
   * How long an instance that cannot read the keys continues to sign. An instance that has not reported for this long
   * counts as stopped.
   */
  readonly leaseMs: number
  /** How long a key stays published after it has stopped signing. No identity assertion is valid for longer. */
  readonly overlapMs: number
  /** How long a key signs before its successor is due. */
  readonly signingPeriodMs: number
}

/** Converts the values that were parsed with `KEY_SETTINGS`. */
export const toKeySettings = (settings: SettingValues): KeySettings => ({
  verifierCacheMs: Math.max(settings.AUTH_KEYS_MAX_AGE_SECONDS, settings.AUTH_KEYS_TRUST_SECONDS),
  // `max-age` is in whole seconds.
  publicMaxAgeSeconds: Math.floor(settings.AUTH_KEYS_MAX_AGE_SECONDS / 1000),
  trustMs: settings.AUTH_KEYS_TRUST_SECONDS,
  pollMs: settings.AUTH_KEYS_POLL_SECONDS,
  leaseMs: settings.AUTH_KEYS_LEASE_SECONDS,
  overlapMs: settings.AUTH_KEYS_OVERLAP_SECONDS,
  signingPeriodMs: settings.AUTH_KEYS_PERIOD_SECONDS,
})
