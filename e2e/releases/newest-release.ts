import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

/** What runs in production until the next release: a commit of this history, and the name of its tag. */
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

/** Why there is no release to run, and what to do about it. */
class NoRelease extends Error {
  override readonly name = 'NoRelease'
}

/**
 * The newest release of `docs/releases.json`, which is the last one. The file goes wherever a clone goes, tags do not;
 * those that are there must say the same.
 *
 * @param root of a clone with its whole history
 * @throws {NoRelease}
 */
export function newestRelease(root: string): Release {
  const releases = Releases.parse(JSON.parse(readFileSync(path.join(root, 'docs/releases.json'), 'utf8')))
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  for (const tag of git('tag', '--list', 'release-*').split('\n').filter(Boolean)) {
    const commit = git('rev-parse', `${tag}^{commit}`)
    const named = releases.find((release) => release.tag === tag)
    if (named?.commit !== commit)
      throw new NoRelease(
        `The tag ${tag} is at ${commit}; docs/releases.json says ${named?.commit ?? 'nothing of it'}.`,
      )
  }
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
