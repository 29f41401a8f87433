export { type Ended, type Notice, readNotice, writeEnded } from './notice.ts'
export {
  HEAR,
  Heard,
  JOIN,
  Joined,
  LEAVE,
  LOOK,
  Looked,
  PENDING,
  Pending,
  RAISE,
  Raised,
  STRIKE_OFF,
} from './scripts.ts'
export { LEASE_MS, MARGIN_MS, RENEW_MS } from './spans.ts'
export { REVOCATION_NAME, revocationKey, revocationNotices } from './store-names.ts'
