// A function that the program does not have.
namespace trainyard {
int forgotten();
}
const int answer = trainyard::forgotten();
