import { SETTINGS as AUTH } from '@plainpath/auth/config'
import type { Setting } from '@plainpath/http/settings'
import type { AppName } from '@plainpath/metadata'
import { SETTINGS as RESOURCE } from '@plainpath/resource/settings'

interface InfraSetting {
  readonly name: string
  readonly isRequired: boolean
  /** The default, as a value in the environment; undefined if there is none. */
  readonly default: string | undefined
  /** Returns whether the app accepts a value of the environment. */
  readonly accepts: (text: string) => boolean
}

const listInfraSettings = (settings: Readonly<Record<string, Setting>>): InfraSetting[] =>
  Object.entries(settings).map(([name, { schema, default: fallback }]) => ({
    name,
    isRequired: !schema.safeParse(fallback).success,
    default: fallback,
    accepts: (text) => schema.safeParse(text).success,
  }))

/** The settings of both apps. */
export const APP_SETTINGS: Readonly<Record<AppName, readonly InfraSetting[]>> = {
  auth: listInfraSettings(AUTH),
  resource: listInfraSettings(RESOURCE),
}

/** The settings that the manifests leave at their defaults, each with the reason. The manifests set all others. */
export const LEFT_AT_DEFAULT: Readonly<Record<string, string>> = {
  AUTH_HOST: 'listens on all addresses of the container; network policies restrict access',
  RESOURCE_HOST: 'listens on all addresses of the container; network policies restrict access',
  AUTH_SESSION_DATABASE_URL: 'no pooler is between the app and its database; an overlay with one sets it',
  RESOURCE_SESSION_DATABASE_URL: 'no pooler is between the app and its database; an overlay with one sets it',
  AUTH_CORS_ORIGINS: 'no script of another origin may POST',
  RESOURCE_CORS_ORIGINS: 'no script of another origin may POST',
  AUTH_ALSO_ACCEPT_HOSTS: 'the service has one origin',
  RESOURCE_ALSO_ACCEPT_HOSTS: 'the service has one origin',
  AUTH_CLIENT_DOCUMENT_TEST_HOSTS: 'only for tests, on loopback',
  AUTH_CHAT_HOSTS_FILE: 'the apps in apps/auth/chat-hosts.json; an overlay may mount another list',
  AUTH_LIMITS_FACTOR: 'the documented limits apply',
  RESOURCE_LIMITS_FACTOR: 'the documented limits apply',
  RESOURCE_SECURITY_CONTACT: 'security@<host of the origin>; an overlay may set another',
  RESOURCE_CONTACT_HOLD: 'ten minutes are enough to reconsider a message; an overlay may set another',
  AUTH_OTLP_URL: 'no traces, unless an overlay or the shell that starts compose.yaml names a collector',
  RESOURCE_OTLP_URL: 'no traces, unless an overlay or the shell that starts compose.yaml names a collector',
  AUTH_NEVER_USED_CLIENTS: 'a flood of registrations replaces unused clients only, whatever the number',
  AUTH_DRAIN_DELAY_SECONDS: 'exceeds the time in which the gateway and the kubelet notice a drain',
  RESOURCE_DRAIN_DELAY_SECONDS: 'exceeds the time in which the gateway and the kubelet notice a drain',
  AUTH_OUTBOX_DIR: 'mail is sent to a server',
  RESOURCE_OUTBOX_DIR: 'mail is sent to a server',
  AUTH_KEYS_MAX_AGE_SECONDS: 'docs/decisions explain the default',
  AUTH_KEYS_TRUST_SECONDS: 'docs/decisions explain the default',
  AUTH_KEYS_POLL_SECONDS: 'docs/decisions explain the default',
  AUTH_KEYS_LEASE_SECONDS: 'docs/decisions explain the default',
  AUTH_KEYS_OVERLAP_SECONDS: 'docs/decisions explain the default',
  AUTH_KEYS_PERIOD_SECONDS: 'docs/decisions explain the default',
}
