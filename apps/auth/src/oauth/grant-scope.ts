import { err, ok, type Result, type Scope } from '@plainpath/domain'

/**
 * The scope a token gets: what was asked for, narrowed to what the client may have (RFC 6749 §3.3); all of that when
 * nothing was asked for.
 *
 * @param asked the `scope` parameter; empty counts as absent
 */
export function grantScope(
  asked: string | undefined,
  allowed: readonly Scope[],
): Result<string, 'nothing-left'> {
  const words = asked?.split(' ').filter(Boolean) ?? []
  const granted = words.length === 0 ? allowed : allowed.filter((scope) => words.includes(scope))
  return granted.length > 0 ? ok(granted.join(' ')) : err('nothing-left')
}
