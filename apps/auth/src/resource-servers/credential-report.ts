import { formatCount } from '@plainpath/domain'
import { toFingerprint } from './resource-servers.ts'
import {
  type CredentialView,
  findHistory,
  findLateInstances,
  findLiveInstances,
} from './rotate-credential.ts'

/** Builds the JSON of `resource-servers list`. It contains neither secrets nor complete hashes. */
export const toCredentialsJson = (view: CredentialView) => ({
  resource_servers: view.servers.map(({ client_id: clientId, audience, secrets }) => ({
    client_id: clientId,
    audience,
    secrets: secrets.map((digest) => ({
      fingerprint: toFingerprint(digest),
      age_seconds: toSeconds(findHistory(view, clientId, digest)?.firstSeenMsAgo),
      used_seconds_ago: toSeconds(findHistory(view, clientId, digest)?.usedMsAgo),
    })),
    behind: findLateInstances(view, clientId).map(({ host }) => host),
  })),
  instances: findLiveInstances(view).map(({ host, problem }) => ({ host, ...(problem && { problem }) })),
})

/** Formats the text of `resource-servers list`, from the same data as the JSON. */
export function formatCredentials(view: CredentialView): string {
  const report = toCredentialsJson(view)
  const formatAgo = (event: string, seconds: number | null, neverText: string) =>
    seconds === null ? neverText : `${event} ${seconds} s ago`
  const serverLines = report.resource_servers.flatMap(
    ({ client_id: clientId, audience, secrets, behind: lateHosts }) => [
      `${clientId}  ${audience}  ${formatCount(secrets.length, 'secret')}`,
      ...secrets.map(
        (secret) =>
          `    ${secret.fingerprint}  ${formatAgo('first accepted', secret.age_seconds, 'not accepted by any instance yet')}, ${formatAgo('last used', secret.used_seconds_ago, 'never used')}`,
      ),
      ...(lateHosts.length > 0
        ? [`    Instances that have not loaded the file yet: ${lateHosts.join(', ')}`]
        : []),
    ],
  )
  const instanceLines = report.instances.map(
    ({ host, problem }) => `${host}${problem ? `  cannot load AUTH_RESOURCE_SERVERS_FILE: ${problem}` : ''}`,
  )
  return [
    ...serverLines,
    '',
    ...(instanceLines.length > 0
      ? ['Running instances:', ...instanceLines.map((line) => `    ${line}`)]
      : ['No instance of the authorization server is running.']),
  ].join('\n')
}

/** Converts milliseconds to seconds with one decimal. JSON cannot contain undefined, so null means that it never happened. */
const toSeconds = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms / 100) / 10)
