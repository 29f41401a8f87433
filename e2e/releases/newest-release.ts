import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

/** The release that runs in production until the next one: a commit of this history, and the name of its tag. */
export interface Release {
  readonly tag: string
  readonly commit: string
}

const Releases = z
  .array(
    z.object({
      tag: z.string().regex(/^release-\d+\.\d+\.\d+$/),
      commit: z.string().regex(/^[0-9a-f]{40}$/),
    }),
  )
  .min(1, 'names no release')

/** The error if there is no valid newest release. The message names the reason. */
class NoRelease extends Error {
  override readonly name = 'NoRelease'
}

/**
 * Returns the newest release, which is the last one in `docs/releases.json`. Every clone has this file, but not every clone has
 * the tags. The tags that exist must agree with it.
 *
 * @param root the root of a clone with its whole history
 * @throws {z.ZodError} if the file is not a list of releases
 * @throws {NoRelease} if a tag disagrees with the file, or the commit is missing or not an ancestor of the checked-out one
 */
export function findNewestRelease(root: string): Release {
  const releases = Releases.parse(JSON.parse(readFileSync(path.join(root, 'docs/releases.json'), 'utf8')))
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  for (const tag of git('tag', '--list', 'release-*').split('\n').filter(Boolean)) {
    const commit = git('rev-parse', `${tag}^{commit}`)
    const listedRelease = releases.find((release) => release.tag === tag)
    if (listedRelease?.commit !== commit)
      throw new NoRelease(
        `The tag ${tag} is at ${commit}; docs/releases.json says ${listedRelease?.commit ?? 'nothing of it'}.`,
      )
  }
  // `Releases` rejects an empty list, so the fallback only satisfies the type.
  const newest = releases.at(-1) ?? { tag: '', commit: '' }
  const { tag, commit } = newest
  try {
    git('cat-file', '-e', `${commit}^{commit}`)
  } catch {
    throw new NoRelease(
      `The commit of ${tag} is not in this clone, which lacks a part of its history: git fetch --unshallow origin, or git fetch origin ${commit}`,
    )
  }
  try {
    git('merge-base', '--is-ancestor', commit, 'HEAD')
  } catch {
    throw new NoRelease(
      `${tag} (${commit}) is not an ancestor of what is checked out: a release is a commit of main.`,
    )
  }
  return newest
}
