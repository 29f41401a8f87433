import type { Metrics } from '@plainpath/http'
import type { FollowerStatus } from './key-follower.ts'

/** Shows what this instance signs with, and whether it can read every key. */
export function keyMetrics(metrics: Pick<Metrics, 'gauge'>): (status: FollowerStatus) => void {
  const version = metrics.gauge('key_ring_version', 'Version of the key ring that this instance follows')
  const signing = metrics.gauge('signing_key', 'The key that this instance signs with', ['kid'])
  const since = metrics.gauge('signing_key_since_seconds', 'When that key began to sign, in Unix time')
  const readable = metrics.gauge('key_ring_readable', '1 when this instance can read every key')
  const auditNumber = metrics.gauge(
    'key_audit_number',
    'Number of the last row of the key audit, and its hash',
    ['head'],
  )
  const auditReadable = metrics.gauge(
    'key_audit_readable',
    '1 when the end of the key audit could be read after the last change',
  )
  return ({ ring_version, signing_kid, signing_since, problem, audit, audit_unread: unread }) => {
    version(ring_version)
    signing(1, { kid: signing_kid })
    if (signing_since !== undefined) since(Date.parse(signing_since) / 1000)
    readable(problem === undefined ? 1 : 0)
    auditReadable(unread ? 0 : 1)
    if (audit) auditNumber(audit.number, { head: audit.head })
  }
}
