import { z } from 'zod'

/** A span of time in seconds, as milliseconds. */
const span = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'must be a number')
    .transform(Number)
    .refine((seconds) => seconds >= least && seconds <= most, `must be from ${least} to ${most}`)
    .transform((seconds) => seconds * 1000)

const DAY = 86_400

/** The settings of the signing keys, spans in seconds. */
export const KEY_SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: span(0, DAY)
    .prefault('300')
    .meta({ description: '`max-age` of the public key set; a new key signs only after it' }),
  AUTH_KEYS_TRUST_SECONDS: span(0.1, 60)
    .prefault('5')
    .meta({ description: 'How long an API may believe a key set it fetched; `keys revoke` waits for it' }),
  AUTH_KEYS_POLL_SECONDS: span(0.1, 30)
    .prefault('3')
    .meta({ description: 'How often an instance reads the keys and says what it signs with' }),
  AUTH_KEYS_LEASE_SECONDS: span(1, 600)
    .prefault('15')
    .meta({ description: 'How long an instance that cannot read the keys goes on signing' }),
  AUTH_KEYS_OVERLAP_SECONDS: span(0, 30 * DAY)
    .prefault('90000')
    .meta({ description: 'How long a key stays published after it stopped signing' }),
  AUTH_KEYS_PERIOD_SECONDS: span(0, 366 * DAY)
    .prefault(String(90 * DAY))
    .meta({ description: 'How long a key signs before its successor is due' }),
}

type Settings = { readonly [Name in keyof typeof KEY_SETTINGS]: number }

/** @param settings as `KEY_SETTINGS` reads them */
export const keySettings = (settings: Settings) => ({
  maxAgeMs: Math.max(settings.AUTH_KEYS_MAX_AGE_SECONDS, settings.AUTH_KEYS_TRUST_SECONDS),
  publicMaxAgeSeconds: Math.floor(settings.AUTH_KEYS_MAX_AGE_SECONDS / 1000),
  trustMs: settings.AUTH_KEYS_TRUST_SECONDS,
  pollMs: settings.AUTH_KEYS_POLL_SECONDS,
  leaseMs: settings.AUTH_KEYS_LEASE_SECONDS,
  overlapMs: settings.AUTH_KEYS_OVERLAP_SECONDS,
  periodMs: settings.AUTH_KEYS_PERIOD_SECONDS,
})
export type KeySettings = ReturnType<typeof keySettings>
