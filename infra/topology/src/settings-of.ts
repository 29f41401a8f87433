import { SETTINGS as AUTH } from '@plainpath/auth/config'
import type { Setting } from '@plainpath/http/settings'
import type { AppName } from '@plainpath/metadata'
import { SETTINGS as RESOURCE } from '@plainpath/resource/settings'

interface InfraSetting {
  readonly name: string
  readonly required: boolean
  /** As it would be written in the environment; undefined where there is none. */
  readonly default: string | undefined
  /** Judges a value as it is written in the environment. */
  readonly accepts: (written: string) => boolean
}

const infraSettings = (settings: Readonly<Record<string, Setting>>): InfraSetting[] =>
  Object.entries(settings).map(([name, { schema, default: fallback }]) => ({
    name,
    required: !schema.safeParse(fallback).success,
    default: fallback,
    accepts: (written) => schema.safeParse(written).success,
  }))

/** Every setting of both apps, by app. */
export const SETTINGS_OF: Readonly<Record<AppName, readonly InfraSetting[]>> = {
  auth: infraSettings(AUTH),
  resource: infraSettings(RESOURCE),
}

/** Settings that the manifests leave at their defaults, and why. Every other one has a place in them. */
export const LEFT_AT_DEFAULT: Readonly<Record<string, string>> = {
  AUTH_HOST: 'all addresses of the container; the network policies say who reaches them',
  RESOURCE_HOST: 'all addresses of the container; the network policies say who reaches them',
  AUTH_CORS_ORIGINS: 'no script of another origin may POST',
  RESOURCE_CORS_ORIGINS: 'no script of another origin may POST',
  AUTH_ALSO_ACCEPT_HOSTS: 'one origin',
  RESOURCE_ALSO_ACCEPT_HOSTS: 'one origin',
  AUTH_LIMITS_FACTOR: 'the limits as they are announced',
  RESOURCE_LIMITS_FACTOR: 'the limits as they are announced',
  RESOURCE_SECURITY_CONTACT: 'security@ the host of the origin; the overlay may name another',
  RESOURCE_CONTACT_HOLD: 'ten minutes, long enough to think again; the overlay may name another',
  AUTH_OTLP_URL: 'no traces, until an overlay or the shell of whoever starts compose.yaml names a collector',
  RESOURCE_OTLP_URL:
    'no traces, until an overlay or the shell of whoever starts compose.yaml names a collector',
  AUTH_NEVER_USED_CLIENTS: 'a flood of registrations takes the room of those that nobody used, at any size',
  AUTH_DRAIN_DELAY_SECONDS: 'longer than the gateway and the kubelet need to see it',
  RESOURCE_DRAIN_DELAY_SECONDS: 'longer than the gateway and the kubelet need to see it',
  AUTH_OUTBOX_DIR: 'mail goes to a server',
  RESOURCE_OUTBOX_DIR: 'mail goes to a server',
  AUTH_KEYS_MAX_AGE_SECONDS: 'the spans that docs/decisions explain',
  AUTH_KEYS_TRUST_SECONDS: 'the spans that docs/decisions explain',
  AUTH_KEYS_POLL_SECONDS: 'the spans that docs/decisions explain',
  AUTH_KEYS_LEASE_SECONDS: 'the spans that docs/decisions explain',
  AUTH_KEYS_OVERLAP_SECONDS: 'the spans that docs/decisions explain',
  AUTH_KEYS_PERIOD_SECONDS: 'the spans that docs/decisions explain',
}
