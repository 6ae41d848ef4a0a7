// The peer of the virtual-time kernel in `make bench`: one greedy TCP CUBIC flow over a chain of routers in ns-3.
//
// Same shape as the D3.4 path: eight links in a row, one of them the bottleneck (rate and queue as given), the delay on
// another, all others fast. Usage: line RATE_BPS ONE_WAY_DELAY_S QUEUE_BYTES BYTES. Prints one line of JSON.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

using namespace ns3;

namespace
{

uint64_t totalBytes;
double finishedS = 0.0;
Ptr<PacketSink> sink;

void
OnReceive(Ptr<const Packet>, const Address&)
{
    if (sink->GetTotalRx() >= totalBytes)
    {
        finishedS = Simulator::Now().GetSeconds();
        Simulator::Stop();
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 5)
    {
        std::cerr << "usage: line RATE_BPS ONE_WAY_DELAY_S QUEUE_BYTES BYTES\n";
        return 2;
    }
    const double rateBps = std::atof(argv[1]);
    const double delayS = std::atof(argv[2]);
    const std::string queueBytes = argv[3];
    totalBytes = std::strtoull(argv[4], nullptr, 10);
    const uint32_t links = 8;
    const uint32_t bottleneck = 2;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1424));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4194304));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6291456));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));

    NodeContainer nodes;
    nodes.Create(links + 1);
    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer last;
    for (uint32_t i = 0; i < links; ++i)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(i == bottleneck ? uint64_t(rateBps) : 10000000000ULL)));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(i == bottleneck + 1 ? delayS : 0.0)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queueBytes + "B"));
        last = addresses.Assign(link.Install(nodes.Get(i), nodes.Get(i + 1)));
        addresses.NewNetwork();
    }
    // Queues stand in the devices; the traffic control layer above them would add a second one.
    TrafficControlHelper traffic;
    for (uint32_t i = 0; i < nodes.GetN(); ++i)
    {
        for (uint32_t d = 0; d < nodes.Get(i)->GetNDevices(); ++d)
        {
            if (nodes.Get(i)->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(nodes.Get(i)->GetDevice(d)))
            {
                traffic.Uninstall(nodes.Get(i)->GetDevice(d));
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5000;
    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sinkHelper.Install(nodes.Get(links));
    BulkSendHelper senderHelper("ns3::TcpSocketFactory", InetSocketAddress(last.GetAddress(1), port));
    senderHelper.SetAttribute("MaxBytes", UintegerValue(totalBytes));
    ApplicationContainer senders = senderHelper.Install(nodes.Get(0));
    sinks.Start(Seconds(0.0));
    senders.Start(Seconds(1.0));

    sink = DynamicCast<PacketSink>(sinks.Get(0));
    sink->TraceConnectWithoutContext("Rx", MakeCallback(&OnReceive));
    Simulator::Stop(Seconds(3600.0));

    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpuBegin = std::clock();
    Simulator::Run();
    const double cpuS = double(std::clock() - cpuBegin) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    std::cout << "{\"virtual_s\": " << finishedS << ", \"wall_s\": " << wall.count() << ", \"cpu_s\": " << cpuS
              << ", \"peak_bytes\": " << used.ru_maxrss * 1024 << "}\n";
    const bool whole = sink->GetTotalRx() >= totalBytes;
    sink = nullptr;
    Simulator::Destroy();
    return whole ? 0 : 1;
}
