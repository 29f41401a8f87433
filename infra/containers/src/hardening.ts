import { evaluateInContainer, expectEqual, INSTANCES, type ResultRow, type RunningTopology } from './proof.ts'

/**
 * Observes a running container: its user, capabilities, file system and programs.
 *
 * @param secretsFolder the mount point of its secrets
 * @returns the members of `HARDENED`, and `cores`, the limit of core dumps in bytes
 */
export async function observeHardening(
  running: RunningTopology,
  container: string,
  secretsFolder: string,
): Promise<object> {
  const code = `
    const status = fs.readFileSync('/proc/1/status', 'utf8')
    const read = (name) => status.match(new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm'))[1]
    const write = (file) => { try { fs.writeFileSync(file, 'x'); return 'written' } catch (error) { return error.code } }
    console.log(JSON.stringify({ uid: read('Uid'), gid: read('Gid'), capabilities: read('CapEff'), bounding: read('CapBnd'),
      noNewPrivileges: read('NoNewPrivs'), seccomp: read('Seccomp'),
      writes: [process.cwd() + '/x', '/x', '/tmp/x', '${secretsFolder}/x'].map(write),
      programs: ['/bin/sh', '/bin/bash', '/usr/bin/apt-get', '/usr/local/bin/npm', '/usr/bin/env'].filter((file) => fs.existsSync(file)),
      cores: fs.readFileSync('/proc/1/limits', 'utf8').match(/core file size\\s+(\\d+)/)[1] }))`
  return JSON.parse(await evaluateInContainer(running, container, code)) as object
}

/**
 * What `observeHardening` must return for a hardened container, apart from `cores`, the limit of core dumps. 65532 is the user
 * `nonroot`, and 2 is the seccomp mode that filters system calls. The sets of capabilities are hexadecimal bit masks.
 */
export const HARDENED = {
  uid: '65532',
  gid: '65532',
  capabilities: '0'.repeat(16),
  bounding: '0'.repeat(16),
  noNewPrivileges: '1',
  seccomp: '2',
  writes: ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
  programs: [],
}

/** Proves the hardening of every instance. */
export async function proveHardening(running: RunningTopology): Promise<ResultRow[]> {
  for (const name of INSTANCES) {
    expectEqual(name, await observeHardening(running, name, '/run/secrets'), { ...HARDENED, cores: '0' })
    const shell = await running.engine.tryPodman('exec', name, '/bin/sh', '-c', 'true')
    if (shell.code === 0) throw new Error(`${name} has a shell`)
  }
  return [
    {
      subject: 'user and group of all four instances',
      observed: '65532, no capability, no new privileges, seccomp filter',
    },
    { subject: 'writing to the working directory, `/`, `/tmp` and `/run/secrets`', observed: 'EROFS' },
    { subject: 'shell, package manager, npm', observed: 'none; `exec /bin/sh` fails' },
    { subject: 'core dumps', observed: 'limit 0' },
  ]
}
