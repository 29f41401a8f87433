import type { Metrics } from '@plainpath/http'
import type { FollowerStatus } from './key-follower.ts'

/** Shows what this instance signs with, and whether it can read every key. */
export function keyMetrics(metrics: Pick<Metrics, 'gauge'>): (status: FollowerStatus) => void {
  const version = metrics.gauge('key_ring_version', 'Version of the key ring that this instance follows')
  const signing = metrics.gauge('signing_key', 'The key that this instance signs with', ['kid'])
  const readable = metrics.gauge('key_ring_readable', '1 when this instance can read every key')
  return ({ ring_version, signing_kid, problem }) => {
    version(ring_version)
    signing(1, { kid: signing_kid })
    readable(problem === undefined ? 1 : 0)
  }
}
