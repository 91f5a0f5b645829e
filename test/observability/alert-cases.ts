// For each alert, series under which it fires and series under which it does not. A value comes each minute, in the
// notation of promtool: `3x9` is ten times 3, `0+5x9` is 0, 5, … 45, `stale` the end of a series. Labels that every
// series has are left out: namespace, job, and the pod where it is "a". A text may have several series, with `; `
// between them.

import type { AlertCase } from './alert-case.ts';
import { OPERATOR_CASES } from './operator-alert-cases.ts';

const NODES = ['cairn_build_info 1x400', 'cairn_build_info{pod="b"} 1x400'];
const WARNING = 'pod="a",severity="warning"';
const CRITICAL = 'pod="a",severity="critical"';
const OF_CLUSTER = 'severity="warning"';

/** Buckets of observations of which the 99th percentile is just below `seconds`. */
function slow(histogram: string, seconds: number, labels = ''): readonly string[] {
  const bucket = (le: number | string, values: string): string => `${histogram}_bucket{${labels}le="${le}"} ${values}`;
  return [bucket(seconds / 2, '0x40'), bucket(seconds, '0+60x40'), bucket('+Inf', '0+60x40')];
}

function calls(code: string, values: string): string {
  return `grpc_server_handled_total{grpc_method="Transact",grpc_code="${code}"} ${values}`;
}

function posts(code: number, values: string): string {
  const labels = `method="POST",route="/databases/{database}/events",code="${code}"`;
  return `http_server_request_duration_seconds_count{${labels}} ${values}`;
}

/** Certificates that expire in so many days; time begins at 0. */
function expiring(clients: number, peer: number): readonly string[] {
  const seconds = (days: number): string => `${days * 86_400}x30`;
  return [
    `cairn_tls_certificate_expiry_timestamp_seconds ${seconds(clients)}`,
    `cairn_peer_tls_certificate_expiry_timestamp_seconds ${seconds(peer)}`,
  ];
}

/** Writes of which so many fail, beside a thousand a minute that do not. */
function failing(values: string): readonly string[] {
  return [calls('OK', '0+1000x120'), calls('UNAVAILABLE', values), posts(200, '0x120')];
}

const OF_NODES: Readonly<Record<string, readonly AlertCase[]>> = {
  NoLeader: [
    [
      '5m',
      [
        'cairn_databases 3x10; cairn_raft_is_leader 2x10; cairn_raft_is_leader{pod="b"} 1x10',
        'cairn_raft_groups 4x10; cairn_raft_has_leader 3x10',
      ],
      ['severity="critical"'],
    ],
    // A node that is cut off knows no leader, and the others continue.
    [
      '5m',
      [
        'cairn_databases 3x10; cairn_raft_is_leader 0x10; cairn_raft_is_leader{pod="b"} 4x10',
        'cairn_raft_groups 4x10; cairn_raft_has_leader 0x10',
      ],
      [],
    ],
    // The node that leads is not scraped.
    [
      '5m',
      ['cairn_databases 3x10', 'cairn_raft_is_leader 0x10', 'cairn_raft_groups 4x10', 'cairn_raft_has_leader 4x10'],
      [],
    ],
  ],
  InsufficientMembers: [
    ['5m', ['cairn_build_info 1x10', 'cairn_raft_members{role="voter"} 3x10'], ['severity="critical"']],
    ['5m', [...NODES, 'cairn_raft_members{role="voter"} 3x10'], []],
    ['12m', ['cairn_build_info 1x5 stale', 'cairn_raft_members{role="voter"} 3x5 stale'], ['severity="critical"']],
  ],
  QuorumAtRisk: [
    [
      '8m',
      [
        'cairn_peer_active{peer="2"} 1x30; cairn_peer_active{peer="3"} 1x30',
        'cairn_peer_active{peer="4"} 0x30; cairn_peer_active{peer="5"} 0x30',
      ],
      [OF_CLUSTER],
    ],
    [
      '8m',
      [
        'cairn_peer_active{peer="2"} 1x30; cairn_peer_active{peer="3"} 1x30; cairn_peer_active{peer="4"} 0x30',
        'cairn_peer_active{peer="5"} 0x30; cairn_peer_active{peer="5",pod="b"} 1x30',
      ],
      [],
    ],
  ],
  MemberDown: [
    ['8m', ['cairn_peer_active{peer="2"} 0x30'], ['peer="2",severity="warning"']],
    ['20m', ['cairn_peer_active{peer="2"} 0x30'], ['peer="2",severity="warning"', 'peer="2",severity="critical"']],
    ['20m', ['cairn_peer_active{peer="2"} 0x30', 'cairn_peer_active{peer="2",pod="b"} 1x30'], []],
  ],
  LivenessDisagreement: [
    [
      '20m',
      [
        ...NODES,
        'cairn_raft_members{role="voter"} 3x30; cairn_databases 1x30',
        'cairn_peer_active{peer="2"} 1x30; cairn_peer_active{peer="3"} 1x30',
      ],
      [OF_CLUSTER],
    ],
    [
      '20m',
      [
        ...NODES,
        'cairn_raft_members{role="voter"} 3x30; cairn_databases 1x30',
        'cairn_peer_active{peer="2"} 1x30; cairn_peer_active{peer="3"} 0x30',
      ],
      [],
    ],
  ],
  LeaderFlapping: [
    ['25m', ['cairn_raft_leader_changes_total 0+1.2x40', 'cairn_raft_groups 4x40'], [OF_CLUSTER]],
    ['25m', ['cairn_raft_leader_changes_total 0+1x40', 'cairn_raft_groups 4x40'], []],
  ],
  ProposalsStuck: [
    ['8m', ['cairn_raft_proposals_pending 1x20', 'cairn_raft_proposals_applied_total 5x20'], [CRITICAL]],
    ['8m', ['cairn_raft_proposals_pending 2x20', 'cairn_raft_proposals_applied_total 0+1x20'], []],
    ['8m', ['cairn_raft_proposals_pending 0x20', 'cairn_raft_proposals_applied_total 5x20'], []],
  ],
  ProposalsFailing: [
    ['25m', ['cairn_raft_proposals_failed_total 0+90x40'], [WARNING]],
    ['25m', ['cairn_raft_proposals_failed_total 0+45x40'], []],
  ],
  FollowerLagging: [
    ['15m', ['cairn_raft_follower_lag_entries{peer="2"} 10001x20'], ['peer="2",severity="warning"']],
    ['15m', ['cairn_raft_follower_lag_entries{peer="2"} 9999x20'], []],
  ],
  SnapshotsFailing: [
    ['40m', ['cairn_raft_snapshot_failures_total{way="received"} 0+0.15x60'], [`${WARNING},way="received"`]],
    ['40m', ['cairn_raft_snapshot_failures_total{way="received"} 0+0.08x60'], []],
  ],
  SlowFsync: [
    ['20m', slow('cairn_wal_fsync_duration_seconds', 1.2), [WARNING, CRITICAL]],
    ['20m', slow('cairn_wal_fsync_duration_seconds', 0.8), [WARNING]],
    ['20m', slow('cairn_wal_fsync_duration_seconds', 0.4), []],
  ],
  SlowCommit: [
    ['20m', slow('cairn_store_commit_duration_seconds', 0.3), [WARNING]],
    ['20m', slow('cairn_store_commit_duration_seconds', 0.2), []],
  ],
  SlowPeer: [
    ['25m', slow('cairn_peer_round_trip_time_seconds', 0.2, 'peer="2",'), [`${WARNING},peer="2"`]],
    ['25m', slow('cairn_peer_round_trip_time_seconds', 0.1, 'peer="2",'), []],
  ],
  EventLoopStall: [
    ['12m', slow('cairn_core_tick_delay_seconds', 0.7), [`${WARNING},thread="core"`]],
    ['12m', ['nodejs_eventloop_lag_p99_seconds 0.7x20', ...NODES], [`${WARNING},thread="clients"`]],
    ['12m', slow('cairn_core_tick_delay_seconds', 0.5), []],
    ['12m', ['nodejs_eventloop_lag_p99_seconds 0.5x20', ...NODES], []],
    // Of another program.
    ['12m', ['nodejs_eventloop_lag_p99_seconds 0.7x20'], []],
  ],
  CpuThrottled: [
    ['25m', ['cairn_cpu_throttled_seconds_total 0+15x40'], [WARNING]],
    ['25m', ['cairn_cpu_throttled_seconds_total 0+9x40'], []],
  ],
  WriteErrorBudgetBurn: [
    [
      '90m',
      [calls('OK', '0+98x120'), calls('UNAVAILABLE', '0+2x120'), posts(200, '0x120')],
      ['severity="critical"', 'severity="warning"'],
    ],
    ['90m', [calls('OK', '0x120'), posts(200, '0+993x120'), posts(503, '0+7x120')], ['severity="warning"']],
    // One of the two windows is above its bound, and the other is below: for a critical alert, and for a warning.
    ['90m', failing('0+10x79 807+17x40'), ['severity="warning"']],
    ['90m', failing('0+17x79 1354+11x40'), ['severity="warning"']],
    ['90m', failing('0+4x44 183.5+7.5x60'), []],
    ['90m', failing('0+10x44 445+5x60'), []],
    // Outcomes that are the client's concern.
    [
      '90m',
      [
        ...[
          'OK',
          'FAILED_PRECONDITION',
          'ALREADY_EXISTS',
          'NOT_FOUND',
          'INVALID_ARGUMENT',
          'ABORTED',
          'RESOURCE_EXHAUSTED',
        ].map((code) => calls(code, '0+50x120')),
        ...[200, 404, 409, 413, 429, 507].map((code) => posts(code, '0+50x120')),
      ],
      [],
    ],
    // It was bad, and is over.
    ['100m', [calls('OK', '0+98x120'), calls('UNAVAILABLE', '0+5x60 300x60'), posts(200, '0x120')], []],
    // Other calls than writes.
    [
      '90m',
      [calls('OK', '0+98x120'), posts(200, '0x120'), calls('INTERNAL', '0+9x120').replace('Transact', 'Get')],
      [],
    ],
  ],
  SlowWrites: [
    ['20m', slow('cairn_raft_proposal_duration_seconds', 0.6), [WARNING]],
    ['20m', slow('cairn_raft_proposal_duration_seconds', 0.4), []],
  ],
  DiskLow: [
    ['20m', ['cairn_disk_available_bytes 14x30', 'cairn_disk_capacity_bytes 100x30'], [WARNING]],
    ['20m', ['cairn_disk_available_bytes 20x30', 'cairn_disk_capacity_bytes 100x30'], []],
    [
      '80m',
      [
        'cairn_disk_available_bytes 1000-3x90; cairn_disk_capacity_bytes 1000x90',
        'cairn_disk_threshold_bytes{level="soft"} 100x90',
      ],
      [WARNING],
    ],
    [
      '80m',
      [
        'cairn_disk_available_bytes 1000-1x90; cairn_disk_capacity_bytes 1000x90',
        'cairn_disk_threshold_bytes{level="soft"} 100x90; cairn_disk_threshold_bytes{level="hard"} 999x90',
      ],
      [],
    ],
  ],
  DiskFull: [
    ['1m', ['cairn_disk_level 1x5'], [CRITICAL]],
    ['1m', ['cairn_disk_level 0x5'], []],
  ],
  QuotaNear: [
    [
      '8m',
      ['cairn_database_size_bytes{database="shop"} 96x9', 'cairn_database_quota_bytes{database="shop"} 100x9'],
      [`${WARNING},database="shop"`],
    ],
    [
      '8m',
      ['cairn_database_size_bytes{database="shop"} 94x9', 'cairn_database_quota_bytes{database="shop"} 100x9'],
      [],
    ],
  ],
  ArchiveLagging: [
    [
      '12m',
      ['cairn_archive_last_success_timestamp_seconds{database="shop"} 0+60x3 180x20'],
      ['database="shop",severity="warning"'],
    ],
    // It is 90 s behind all the time.
    [
      '12m',
      ['cairn_archive_last_success_timestamp_seconds{database="shop"} -90+60x20'],
      ['database="shop",severity="warning"'],
    ],
    // Another node has taken over.
    [
      '12m',
      [
        'cairn_archive_last_success_timestamp_seconds{database="shop"} 0+60x3 180x20',
        'cairn_archive_last_success_timestamp_seconds{pod="b",database="shop"} 0+60x20',
      ],
      [],
    ],
    ['12m', ['cairn_archive_last_success_timestamp_seconds{database="shop"} 0+60x3 180x4 480+60x20'], []],
  ],
  CompactionBehind: [
    ['15m', ['cairn_store_tables{level="0"} 8x20'], [`${WARNING},level="0"`]],
    ['15m', ['cairn_store_tables{level="0"} 7x20', 'cairn_store_tables{level="1"} 90x20'], []],
  ],
  StoreCorruption: [
    ['1m', ['cairn_corruption_alarm 1x5'], [CRITICAL]],
    ['1m', ['cairn_corruption_alarm 0x5'], []],
  ],
  ReplicaDiverged: [
    ['1m', ['cairn_replicas_diverged 1x5'], [CRITICAL]],
    ['1m', ['cairn_replicas_diverged 0x5'], []],
  ],
  VersionMismatch: [
    [
      '250m',
      ['cairn_build_info{version="0.1.0"} 1x300', 'cairn_build_info{version="0.2.0",pod="b"} 1x300'],
      ['severity="info"'],
    ],
    ['200m', ['cairn_build_info{version="0.1.0"} 1x300', 'cairn_build_info{version="0.2.0",pod="b"} 1x300'], []],
    ['250m', ['cairn_build_info{version="0.2.0"} 1x300', 'cairn_build_info{version="0.2.0",pod="b"} 1x300'], []],
  ],
  RestartLoop: [
    ['15m', ['process_start_time_seconds 1x4 2x4 3x4 4x9', ...NODES], [WARNING]],
    ['15m', ['process_start_time_seconds 1x4 2x4 3x20', ...NODES], []],
    ['15m', ['process_start_time_seconds 1x4 2x4 3x4 4x9'], []],
  ],
  HighFDs: [
    ['15m', ['process_open_fds 81x20', 'process_max_fds 100x20', ...NODES], [WARNING]],
    ['15m', ['process_open_fds 79x20', 'process_max_fds 100x20', ...NODES], []],
  ],
  ConnectionsRefused: [
    ['20m', ['cairn_connections_closed_total 0+1x30'], [WARNING]],
    ['20m', ['cairn_connections_closed_total 5x30'], []],
  ],
  CertExpiring: [
    ['20m', expiring(6, 20), [`${WARNING},port="clients"`, `${CRITICAL},port="clients"`, `${WARNING},port="peer"`]],
    ['20m', expiring(20, 6), [`${WARNING},port="clients"`, `${WARNING},port="peer"`, `${CRITICAL},port="peer"`]],
    ['20m', expiring(8, 22), [`${WARNING},port="clients"`]],
    ['20m', expiring(22, 8), [`${WARNING},port="peer"`]],
    // Without TLS.
    ['20m', expiring(0, 0), []],
  ],
  CertReloadFailing: [
    ['9m', ['cairn_tls_reloads_total{result="failed"} 0x4 1x9'], [`${WARNING},port="clients",result="failed"`]],
    ['9m', ['cairn_peer_tls_reloads_total{result="failed"} 0x4 1x9'], [`${WARNING},port="peer",result="failed"`]],
    ['9m', ['cairn_tls_reloads_total{result="loaded"} 0x4 1x9', 'cairn_tls_reloads_total{result="failed"} 1x9'], []],
  ],
  PeersRejected: [
    ['25m', ['cairn_peer_dropped_frames_total{reason="handshake"} 0+1.2x30'], [`${WARNING},reason="handshake"`]],
    [
      '25m',
      [
        'cairn_peer_dropped_frames_total{reason="closing"} 0+2x30',
        'cairn_peer_dropped_frames_total{reason="cluster"} 0+0.8x30',
      ],
      [],
    ],
  ],
  StateViewLagging: [
    ['20m', ['cairn_stateview_lag_revisions{database="shop"} 10001x30'], [`${WARNING},database="shop"`]],
    ['20m', ['cairn_stateview_maintenance_troubled 1x30'], [WARNING]],
    [
      '20m',
      ['cairn_stateview_lag_revisions{database="shop"} 9999x30', 'cairn_stateview_maintenance_troubled 0x30'],
      [],
    ],
  ],
  ComponentTrapping: [
    ['20m', ['cairn_guest_faults_total{pool="views",code="Trap"} 0+1.2x30'], [`${WARNING},pool="views",code="Trap"`]],
    ['20m', ['cairn_guest_quarantined_components{pool="changes"} 1x30'], [`${WARNING},pool="changes"`]],
    [
      '20m',
      [
        'cairn_guest_faults_total{pool="views",code="Busy"} 0+99x30',
        'cairn_guest_faults_total{pool="views",code="Trap"} 0+0.8x30',
        'cairn_guest_quarantined_components{pool="changes"} 0x30',
      ],
      [],
    ],
  ],
  Overloaded: [
    ['12m', ['cairn_rejected_total{reason="overload"} 0+90x20'], [`${WARNING},reason="overload"`]],
    ['12m', ['cairn_rejected_total{reason="overload"} 0+45x20', 'cairn_rejected_total{reason="draining"} 0+90x20'], []],
  ],
  ClockOffset: [
    [
      '15m',
      [
        'cairn_clock_offset_seconds{peer="2"} -3x20; cairn_clock_offset_seconds{peer="3"} -2.5x20',
        'cairn_clock_offset_seconds{peer="1",pod="b"} 3x20; cairn_clock_offset_seconds{peer="3",pod="b"} 0.1x20',
      ],
      [WARNING, CRITICAL],
    ],
    ['15m', ['cairn_clock_offset_seconds{peer="2"} -1.5x20'], [WARNING]],
    ['15m', ['cairn_clock_offset_seconds{peer="2"} -0.6x20'], [WARNING]],
    ['15m', ['cairn_clock_offset_seconds{peer="2"} -0.4x20'], []],
  ],
  RecordedTimeAhead: [
    ['8m', ['cairn_recorded_time_ahead_seconds 60x20'], [WARNING]],
    ['8m', ['cairn_recorded_time_ahead_seconds 0x20'], []],
  ],
  IdentityKeysUnreadable: [
    [
      '40m',
      [
        'cairn_identity_keys_reads_total{result="failed"} 0+1x60',
        'cairn_identity_keys_reads_total{result="read"} 5x60',
      ],
      [`${WARNING},result="failed"`],
    ],
    [
      '40m',
      [
        'cairn_identity_keys_reads_total{result="failed"} 0+1x60',
        'cairn_identity_keys_reads_total{result="read"} 0+1x60',
      ],
      [],
    ],
  ],
};

export const ALERT_CASES: Readonly<Record<string, readonly AlertCase[]>> = { ...OF_NODES, ...OPERATOR_CASES };
