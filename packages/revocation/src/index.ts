export { type Ended, type Notice, readNotice, writeEnded } from './notice.ts'
export { REVOCATION, type RevocationIntervals, type RevocationOptions } from './revocation-options.ts'
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
export { revocationKey, revocationNotices } from './store-names.ts'
