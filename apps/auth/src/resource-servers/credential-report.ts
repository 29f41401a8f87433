import { fingerprint } from './resource-servers.ts'
import { behind, type CredentialView, findHistory, liveFollowers } from './rotate-credential.ts'

/** Builds the JSON of `resource-servers list`: never a secret, nor its whole hash. */
export const credentialsJson = (view: CredentialView) => ({
  resource_servers: view.servers.map(({ client_id: clientId, audience, secrets }) => ({
    client_id: clientId,
    audience,
    secrets: secrets.map((digest) => ({
      fingerprint: fingerprint(digest),
      age_seconds: seconds(findHistory(view, clientId, digest)?.firstSeenMsAgo),
      used_seconds_ago: seconds(findHistory(view, clientId, digest)?.usedMsAgo),
    })),
    behind: behind(view, clientId).map(({ host }) => host),
  })),
  instances: liveFollowers(view).map(({ host, problem }) => ({ host, ...(problem && { problem }) })),
})

export function credentialsText(view: CredentialView): string {
  const shown = credentialsJson(view)
  const ago = (at: number | null, never: string) => (at === null ? never : `${at} s ago`)
  const servers = shown.resource_servers.flatMap(({ client_id: id, audience, secrets, behind: late }) => [
    `${id}  ${audience}  ${secrets.length === 1 ? '1 secret' : `${secrets.length} secrets`}`,
    ...secrets.map(
      (secret) =>
        `    ${secret.fingerprint}  known since ${ago(secret.age_seconds, 'no instance has run')}, used ${ago(secret.used_seconds_ago, 'never')}`,
    ),
    ...(late.length > 0 ? [`    not followed yet by: ${late.join(', ')}`] : []),
  ])
  const instances = shown.instances.map(
    ({ host, problem }) => `${host}${problem ? `  cannot read its file (${problem})` : ''}`,
  )
  return [
    ...servers,
    '',
    ...(instances.length > 0
      ? ['Running:', ...instances.map((each) => `    ${each}`)]
      : ['No instance of the server is running.']),
  ].join('\n')
}

const seconds = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms / 100) / 10)
